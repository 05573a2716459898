"""What the product does, over ports. Everything goes through one door: `door.service.MailService.submit`."""
