"""What the product does, over ports. Everything goes through one door: `service.MailService.submit`."""
